"""Fits y = 3x by as many processes as there are now. Whoever finds /tmp/die goes as a machine goes, with the agent that
would have told of it; where somebody finds /tmp/end, all have done their work."""

import os
import signal
import time

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
print(f"rank {rank} of {world}", flush=True)

torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
x = torch.linspace(-1, 1, 32).reshape(-1, 1)[rank::world]
asked, steps = torch.zeros(1), 0
while asked.item() == 0 or steps < 100:
    if os.path.exists("/tmp/die"):
        os.remove("/tmp/die")
        for process in (os.getppid(), os.getpid()):
            os.kill(process, signal.SIGKILL)
    optimizer.zero_grad()
    ((model(x) - 3 * x) ** 2).mean().backward()
    optimizer.step()
    steps += 1
    asked.fill_(os.path.exists("/tmp/end"))
    torch.distributed.all_reduce(asked)
    time.sleep(0.02)
weight = model.module.weight.item()
print(f"rank {rank} of {world}: weight {weight:.2f}", flush=True)
torch.distributed.destroy_process_group()
