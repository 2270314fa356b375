import torch
from transformers import Trainer, TrainingArguments, TrainerCallback

class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, 10), labels.view(-1))
        valid = labels != -100
        picked = logits[valid]  # sync
        if torch.isnan(loss):  # sync
            loss = loss * 0
        self.log({"acc": (logits.argmax(-1) == labels).float().mean().item()})  # sync
        return (loss, outputs) if return_outputs else loss
