"""torchaudio: transforms and functions. Nothing where torchaudio is not installed."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import torch

from syncwatch.facts.measure.probes import Program, probe


def programs(device: str) -> Iterator[Program]:
    if importlib.util.find_spec("torchaudio") is None:
        return
    AF: Any = importlib.import_module("torchaudio.functional")
    AT: Any = importlib.import_module("torchaudio.transforms")

    for side, where in (("", device), (" host", "cpu")):

        def wave(where: str = where) -> torch.Tensor:
            return torch.rand(1, 4000, device=where) - 0.5

        def spectrum(where: str = where) -> torch.Tensor:
            return torch.rand(1, 32, 40, device=where)

        on_waves = {
            "Spectrogram": lambda: AT.Spectrogram(256),
            "MelSpectrogram": lambda: AT.MelSpectrogram(16000, 256, n_mels=16),
            "MFCC": lambda: AT.MFCC(16000, 8, melkwargs={"n_fft": 256, "n_mels": 16}),
            "Resample": lambda: AT.Resample(16000, 8000),
            "Vol": lambda: AT.Vol(0.5),
            "Fade": lambda: AT.Fade(10, 10),
            "MuLawEncoding": lambda: AT.MuLawEncoding(),
            "Vad": lambda: AT.Vad(16000),
        }
        on_spectra = {
            "AmplitudeToDB": lambda: AT.AmplitudeToDB(),
            "AmplitudeToDB, top_db": lambda: AT.AmplitudeToDB(top_db=80),
            "FrequencyMasking": lambda: AT.FrequencyMasking(4),
            "TimeMasking": lambda: AT.TimeMasking(4),
            "TimeMasking, each": lambda: AT.TimeMasking(4, iid_masks=True),
            "MelScale": lambda: AT.MelScale(16, 16000, n_stft=32),
            "GriffinLim": lambda: AT.GriffinLim(62, n_iter=2),
            "ComputeDeltas": lambda: AT.ComputeDeltas(),
            "SlidingWindowCmn": lambda: AT.SlidingWindowCmn(),
        }
        for name, make in on_waves.items():
            yield probe(f"{name}{side}", lambda m=make, x=wave, w=where: (m().to(w), x()), lambda t, x: t(x))
        for name, make in on_spectra.items():
            yield probe(f"{name}{side}", lambda m=make, x=spectrum, w=where: (m().to(w), x()), lambda t, x: t(x))
        yield probe(f"resample{side}", wave, lambda x: AF.resample(x, 16000, 8000))
        yield probe(
            f"lfilter{side}",
            lambda x=wave, w=where: (x(), torch.tensor([1.0, 0.5], device=w), torch.tensor([0.4, 0.2], device=w)),
            lambda x, a, b: AF.lfilter(x, a, b),
        )
        yield probe(f"biquad{side}", wave, lambda x: AF.lowpass_biquad(x, 16000, 300.0))
        yield probe(f"gain{side}", wave, lambda x: AF.gain(x, 1.0))
        yield probe(f"detect_pitch_frequency{side}", wave, lambda x: AF.detect_pitch_frequency(x, 16000))
        yield probe(
            f"convolve{side}", lambda x=wave, w=where: (x(), torch.rand(1, 8, device=w)), lambda x, k: AF.convolve(x, k)
        )
        yield probe(
            f"fftconvolve{side}",
            lambda x=wave, w=where: (x(), torch.rand(1, 8, device=w)),
            lambda x, k: AF.fftconvolve(x, k),
        )
        yield probe(
            f"add_noise{side}",
            lambda x=wave, w=where: (x(), x(), torch.tensor([10.0], device=w)),
            lambda x, n, s: AF.add_noise(x, n, s),
        )
        yield probe(
            f"edit distances{side}",
            lambda w=where: (torch.arange(4, device=w), torch.arange(5, device=w)),
            lambda a, b: AF.edit_distance(a, b),
        )
