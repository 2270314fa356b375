"""[tool.syncwatch] and syncwatch.toml: what is read, what is an error, and how the error reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncwatch import config
from syncwatch.model import Certainty, Heat


def read(folder: Path, text: str, name: str = "pyproject.toml") -> config.Config:
    file = folder / name
    file.write_text(text)
    return config.read(file)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_key_is_read(here: Path) -> None:
    got = read(
        here,
        """
[project]
name = "x"
[tool.syncwatch]
select = ["SW1", "nonzero-in-step"]
extend-select = ["SW4"]
ignore = ["SW103"]
exclude = ["third_party"]
extend-exclude = ["*_pb2.py"]
respect-gitignore = false
rules = ["lint/rules"]
hot = ["Trainer.fit_batch"]
device-names = ["cfg.gpu"]
sync-functions = ["mylib.wait_all"]
moves-to-device = ["mylib.to_gpu"]
certainty = "possible"
heat = ["step", "epoch"]
baseline = "known.json"
require-reason = true
[tool.syncwatch.per-file-ignores]
"tests/*" = ["ALL"]
""",
    )
    assert got.select == ("SW1", "nonzero-in-step")
    assert got.extend_select == ("SW4",)
    assert got.ignore == ("SW103",)
    assert got.per_file_ignores == {"tests/*": ("ALL",)}
    assert got.exclude == ("third_party",)
    assert got.extend_exclude == ("*_pb2.py",)
    assert got.respect_gitignore is False
    assert got.rules == ("lint/rules",)
    assert got.hot == ("Trainer.fit_batch",)
    assert got.device_names == ("cfg.gpu",)
    assert got.sync_functions == ("mylib.wait_all",)
    assert got.moves_to_device == ("mylib.to_gpu",)
    assert got.certainty is Certainty.POSSIBLE
    assert got.heat == (Heat.STEP, Heat.EPOCH)
    assert got.baseline == "known.json"
    assert got.require_reason is True
    assert got.root == here.resolve()
    assert {option.key for option in config.OPTIONS} == set(got.origins), "this test names every key"


def test_syncwatch_toml_has_the_keys_at_its_top(here: Path) -> None:
    got = read(here, 'heat = "all"\n', "syncwatch.toml")
    assert got.heat == tuple(Heat)
    assert got.origins == {"heat": "syncwatch.toml:1"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('selct = ["SW1"]', "pyproject.toml:3: unknown key 'selct'; did you mean 'select'?"),
        ("per_file_ignores = {}", "pyproject.toml:3: unknown key 'per_file_ignores'; did you mean 'per-file-ignores'?"),
        ('select = "SW1"', "pyproject.toml:3: `select` must be a list of strings, not the string 'SW1'"),
        ("select = [1]", "pyproject.toml:3: `select` must hold strings only, but holds the number 1"),
        ('select = ["SW1", ""]', "pyproject.toml:3: `select` holds an empty string; remove it"),
        (
            'hot = ["Trainer.fit batch"]',
            "pyproject.toml:3: `hot` must hold dotted names such as 'cfg.gpu', but holds 'Trainer.fit batch'",
        ),
        (
            'device-names = ["device("]',
            "pyproject.toml:3: `device-names` must hold dotted names such as 'cfg.gpu', but holds 'device('",
        ),
        ("respect-gitignore = 1", "pyproject.toml:3: `respect-gitignore` must be true or false, not the number 1"),
        ("baseline = true", "pyproject.toml:3: `baseline` must be a string, not `true`"),
        (
            'certainty = "certan"',
            "pyproject.toml:3: `certainty` does not know 'certan'; did you mean 'certain'? "
            "(one of 'certain', 'likely', 'possible')",
        ),
        (
            'heat = "always"',
            "pyproject.toml:3: `heat` must be \"all\" or a list of some of 'setup', 'epoch', 'step', 'guarded', "
            "not the string 'always'",
        ),
        (
            'heat = ["steps"]',
            "pyproject.toml:3: `heat` does not know 'steps'; did you mean 'step'? "
            "(one of 'setup', 'epoch', 'step', 'guarded')",
        ),
        (
            'per-file-ignores = ["SW1"]',
            'pyproject.toml:3: `per-file-ignores` must be a table such as { "tests/*" = ["SW101"] }, not a list',
        ),
        (
            'per-file-ignores = { "a" = "SW1" }',
            "pyproject.toml:3: `per-file-ignores[\"a\"]` must be a list of strings, not the string 'SW1'",
        ),
    ],
)
def test_mistakes_name_the_key_and_the_remedy(here: Path, line: str, message: str) -> None:
    with pytest.raises(config.ConfigError) as caught:
        read(here, f"[tool.other]\n[tool.syncwatch]\n{line}\n")
    assert str(caught.value) == message


def test_a_key_that_is_like_no_other_lists_the_known_ones(here: Path) -> None:
    with pytest.raises(config.ConfigError, match=r"unknown key 'zzz' \(known: select, extend-select, ignore"):
        read(here, "zzz = 1\n", "syncwatch.toml")


def test_the_pyproject_form_in_syncwatch_toml_is_explained(here: Path) -> None:
    with pytest.raises(config.ConfigError, match=r"the keys stand at the top, without \[tool.syncwatch\]"):
        read(here, "[tool.syncwatch]\nselect = []\n", "syncwatch.toml")


def test_a_file_of_another_name_is_called_by_its_own(here: Path) -> None:
    with pytest.raises(
        config.ConfigError, match=r"ci\.toml:1: unknown key 'tool'; in ci.toml the keys stand at the top"
    ):
        read(here, "[tool.syncwatch]\nselect = []\n", "ci.toml")


def test_a_broken_file_is_named_with_the_place(here: Path) -> None:
    with pytest.raises(config.ConfigError, match=r"^syncwatch.toml: is not valid TOML: .*at line 1"):
        read(here, "select = 1 2\n", "syncwatch.toml")


def test_a_file_that_is_missing_or_no_text_is_named(here: Path) -> None:
    with pytest.raises(config.ConfigError, match=r"^none.toml: cannot be read \(No such file or directory\)"):
        config.read(Path("none.toml"))
    (here / "syncwatch.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(config.ConfigError, match="is not UTF-8, as TOML must be"):
        config.read(Path("syncwatch.toml"))


def test_the_nearest_file_upward_wins(here: Path) -> None:
    deep = here / "a" / "b"
    deep.mkdir(parents=True)
    (here / "syncwatch.toml").write_text('ignore = ["SW1"]\n')
    (here / "a" / "pyproject.toml").write_text("[project]\nname = 'no table of ours'\n")
    assert config.find(deep) == here / "syncwatch.toml"
    (here / "a" / "pyproject.toml").write_text("[tool.syncwatch]\n")
    assert config.find(deep) == here / "a" / "pyproject.toml"
    (here / "a" / "syncwatch.toml").write_text("")
    assert config.find(deep) == here / "a" / "syncwatch.toml"


def test_paths_in_several_folders_share_the_configuration_above_them(here: Path) -> None:
    for name in ("a", "b"):
        (here / name).mkdir()
        (here / name / "x.py").write_text("")
        (here / name / "syncwatch.toml").write_text(f'ignore = ["SW{ord(name)}"]\n')
    (here / "syncwatch.toml").write_text('ignore = ["SW7"]\n')
    assert config.discover([Path("a/x.py")]).ignore == ("SW97",)
    assert config.discover([Path("a/x.py"), Path("b/x.py")]).ignore == ("SW7",)


def test_the_command_line_wins_and_is_named_as_the_origin(here: Path) -> None:
    got = read(here, 'ignore = ["SW1"]\ncertainty = "certain"\n', "syncwatch.toml")
    got = got.override({"ignore": ["SW2"], "select": None}, {"ignore": "--ignore"})
    assert got.ignore == ("SW2",)
    assert got.certainty is Certainty.CERTAIN
    origins = {option.key: origin for option, _, origin in config.table(got)}
    assert origins["ignore"] == "--ignore"
    assert origins["certainty"] == "syncwatch.toml:2"
    assert origins["select"] == "default"


def test_a_rule_folder_that_does_not_exist_is_named(here: Path) -> None:
    got = read(here, 'rules = ["mine"]\n', "syncwatch.toml")
    with pytest.raises(config.ConfigError, match=r"^syncwatch.toml:1: `rules` names the folder 'mine', which does not"):
        got.rule_folders()
    (here / "mine").mkdir()
    assert got.rule_folders() == (here.resolve() / "mine",)
