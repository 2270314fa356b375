import logging
import torch
import wandb
from torch.utils.tensorboard import SummaryWriter
logger = logging.getLogger(__name__)
logging.basicConfig(level=logging.INFO)
writer = SummaryWriter()
x = torch.randn(4, 4, device="cuda", requires_grad=True)

for step in range(100):
    loss = (x * x).mean()
    loss.backward()
    writer.add_scalar("loss", loss, step)  # sync
    wandb.log({"loss": loss})  # sync
    wandb.log({"step": step})
    logger.info("loss %s", loss)  # sync
    logger.info(f"loss {loss.item()}")  # sync
    logger.debug("loss %s", loss)
    x.grad = None
