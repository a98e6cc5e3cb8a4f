"""Training loops whose records are taken: PyTorch's schedules, a loop with data
parallelism as torchtitan's, and one with messages as Megatron's.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleZBVZeroBubble,
)

WIDTH = 8
MICRO_BATCHES = 4
PIPELINES = {
    "gpipe": (ScheduleGPipe, 1),
    "1f1b": (Schedule1F1B, 1),
    "interleaved": (ScheduleInterleaved1F1B, 2),
    "zbv": (ScheduleZBVZeroBubble, 2),
}


def pipeline(name, group=None):
    """A schedule of PyTorch's with its stages on this rank."""
    made, chunks = PIPELINES[name]
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    stages = world * chunks
    mine = [rank + world * chunk for chunk in range(chunks)]
    if name == "zbv":
        mine = [rank, stages - 1 - rank]
    parts = [
        PipelineStage(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()),
            index,
            stages,
            torch.device("cpu"),
            group=group,
        )
        for index in mine
    ]
    loss = nn.functional.mse_loss
    if chunks == 1:
        return made(parts[0], MICRO_BATCHES, loss_fn=loss), parts
    return made(parts, MICRO_BATCHES, loss_fn=loss), parts


def step_of(schedule, parts):
    batch = torch.randn(2 * MICRO_BATCHES, WIDTH)
    arguments = [batch] if any(part.is_first for part in parts) else []
    if any(part.is_last for part in parts):
        return schedule.step(*arguments, target=batch, losses=[])
    return schedule.step(*arguments)


def pytorch(run, name, steps):
    schedule, parts = pipeline(name)
    for _ in range(steps):
        run.look()
        step_of(schedule, parts)
        total = torch.ones(1)
        dist.all_reduce(total)


def titan(run, name, steps):
    """Pipelines of two ranks beside each other, whose gradients are summed."""
    rank = dist.get_rank()
    world = dist.get_world_size()
    pp = dp = None
    for first in range(0, world, 2):
        group = dist.new_group([first, first + 1], group_desc="mesh_pp")
        pp = group if rank in (first, first + 1) else pp
    for place in range(2):
        ranks = list(range(place, world, 2))
        group = dist.new_group(ranks, group_desc="mesh_dp")
        dp = group if rank in ranks else dp
    schedule, parts = pipeline(name, pp)
    copies = dist.get_world_size(dp)
    for _ in range(steps):
        run.look()
        for part in parts:
            for weight in part.submod.parameters():
                shard = torch.chunk(weight.detach().reshape(-1), copies)[0]
                whole = torch.empty(shard.numel() * copies)
                dist.all_gather_single(whole, shard.contiguous(), group=dp)
        step_of(schedule, parts)
        for part in parts:
            for weight in part.submod.parameters():
                flat = weight.grad.reshape(-1)
                shard = torch.empty(flat.numel() // copies)
                dist.reduce_scatter_single(shard, flat, group=dp)
        norm = torch.ones(1)
        dist.all_reduce(norm, group=dp)
        dist.all_reduce(norm, group=pp)
        dist.barrier()


def megatron(run, name, steps):
    """1F1B by hand. `name` says how messages go: "batched", "shapes" with messages of
    shapes before them, "single" without batches.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    pp = dist.new_group(list(range(world)), group_desc="PIPELINE_MODEL_PARALLEL_GROUP")
    sizes = torch.tensor([2, WIDTH, 1])

    def exchange(send_next=None, recv_prev=False, send_prev=None, recv_next=False):
        if name == "shapes":
            move(
                sizes if send_next is not None else None,
                torch.empty(3, dtype=torch.int64) if recv_prev else None,
                sizes if send_prev is not None else None,
                torch.empty(3, dtype=torch.int64) if recv_next else None,
            )
        move(
            send_next,
            torch.empty(2, WIDTH) if recv_prev else None,
            send_prev,
            torch.empty(2, WIDTH) if recv_next else None,
        )

    def move(send_next, from_prev, send_prev, from_next):
        wanted = [
            (dist.isend, send_prev, rank - 1),
            (dist.irecv, from_prev, rank - 1),
            (dist.isend, send_next, rank + 1),
            (dist.irecv, from_next, rank + 1),
        ]
        if name == "single" and rank % 2:
            wanted = [wanted[k] for k in (1, 2, 3, 0)]
        elif name == "single":
            wanted = [wanted[k] for k in (2, 1, 0, 3)]
        wanted = [each for each in wanted if each[1] is not None]
        if name == "single":
            works = [op(tensor, peer, group=pp) for op, tensor, peer in wanted]
        elif wanted:
            works = dist.batch_isend_irecv(
                [dist.P2POp(op, tensor, peer, pp) for op, tensor, peer in wanted]
            )
        else:
            works = []
        for work in works:
            work.wait()

    first, last = rank == 0, rank == world - 1
    data = torch.randn(2, WIDTH)
    warm = min(MICRO_BATCHES, world - 1 - rank)
    for _ in range(steps):
        run.look()
        for _ in range(warm):
            exchange(recv_prev=not first)
            exchange(send_next=None if last else data)
        steady = MICRO_BATCHES - warm
        if steady:
            exchange(recv_prev=not first)
        for k in range(steady):
            exchange(send_next=None if last else data, recv_next=not last)
            exchange(
                send_prev=None if first else data,
                recv_prev=not first and k < steady - 1,
            )
        for _ in range(warm):
            exchange(recv_next=not last)
            exchange(send_prev=None if first else data)
        dist.all_reduce(torch.ones(1), group=pp)


def ashlar(run, name, steps):
    """Our own runtime."""
    import ashlar_pp.torch

    torch.manual_seed(1)
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(8)))
    batch = torch.randn(2 * MICRO_BATCHES, WIDTH)
    pipe = ashlar_pp.torch.Pipeline(
        model,
        batch[:2],
        target=batch[:2],
        loss_fn=nn.functional.mse_loss,
        micro_batches=MICRO_BATCHES,
        schedule=name,
        layers=[str(index) for index in range(8)],
    )
    for _ in range(steps):
        run.look()
        pipe.step(batch, target=batch)


def crossing(run, name, steps):
    """Loops that are wrong by themselves: their orders can never be."""
    rank, world = dist.get_rank(), dist.get_world_size()
    everyone = list(range(world))
    one = dist.new_group(everyone, group_desc="one")
    other = dist.new_group(everyone, group_desc="other")
    data = torch.ones(4)
    dist.all_reduce(data, group=one)
    dist.all_reduce(data, group=other)
    for _ in range(steps):
        dist.all_reduce(data, group=one)
    run.look()
    peer = (rank + 1) % world if rank % 2 == 0 else (rank - 1) % world
    if name == "communicators":
        for group in (one, other) if rank else (other, one):
            dist.all_reduce(data, group=group)
    elif name == "kinds":
        if rank:
            dist.all_reduce(data, group=one)
        dist.broadcast(data, 0, group=one)
        if not rank:
            dist.all_reduce(data, group=one)
    elif name == "sends":
        # each sends before it receives: 0SendF1 against 1SendF0
        works = [dist.isend(data, peer, group=one), dist.irecv(data, peer, group=one)]
        for work in works:
            work.wait()
    elif name == "blocking":
        dist.send(data, peer, group=one)
        dist.recv(data, peer, group=one)
    elif name == "ring":
        dist.send(data, (rank + 1) % world, group=one)
        dist.recv(data, (rank - 1) % world, group=one)
    elif name == "lazy":
        # one rank is in a collective, another makes a new communicator first
        third = dist.new_group(everyone, group_desc="late")
        if rank:
            dist.all_reduce(data, group=third)
            dist.barrier()
        else:
            dist.barrier()
            dist.all_reduce(data, group=third)
    elif name == "batches":
        # the first batch of rank 0 needs the second of rank 1, and the other way
        ops = [
            dist.P2POp(dist.isend, data, peer, one),
            dist.P2POp(dist.irecv, data.clone(), peer, one),
        ]
        for op in ops:
            for work in dist.batch_isend_irecv([op]):
                work.wait()
    dist.barrier()


LOOPS = {
    "pytorch": pytorch,
    "titan": titan,
    "megatron": megatron,
    "ashlar": ashlar,
    "crossing": crossing,
}
