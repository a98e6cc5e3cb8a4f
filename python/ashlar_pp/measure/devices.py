"""What a device is: its generation by the cost model's names, and its own figures."""

import dataclasses
import os

import torch

from .team import Team

# Generations by compute capability (CUDA C++ Programming Guide, appendix on compute
# capabilities), and by the names of AMD's targets (LLVM, AMDGPU user guide).
BY_CAPABILITY = {
    (7, 0): "volta",
    (8, 0): "ampere",
    (8, 6): "ampere",
    (8, 9): "ada",
    (9, 0): "hopper",
    (10, 0): "blackwell",
    (10, 3): "blackwell-ultra",
    (12, 0): "blackwell",
}
BY_TARGET = {
    "gfx90a": "cdna2",
    "gfx940": "cdna3",
    "gfx941": "cdna3",
    "gfx942": "cdna3",
    "gfx950": "cdna4",
}
# The families whose constants a generation takes, as `machine.hpp` has them.
FAMILIES = {
    "hopper": "hopper",
    "cdna3": "hopper",
    "blackwell": "blackwell",
    "cdna4": "blackwell",
    "blackwell-ultra": "ultra",
}


@dataclasses.dataclass(frozen=True)
class Device:
    name: str
    generation: str
    memory_bytes: float
    units: float

    @property
    def family(self) -> str:
        """As names of constants have it."""
        return FAMILIES.get(self.generation, "ampere")


def generation_of(device: torch.device) -> str:
    """Raises ValueError for a GPU of no generation that the cost model knows."""
    if device.type != "cuda":
        return "ampere"
    properties = torch.cuda.get_device_properties(device)
    target = str(getattr(properties, "gcnArchName", "")).split(":")[0]
    found = BY_TARGET.get(target) if torch.version.hip else None
    found = found or BY_CAPABILITY.get((properties.major, properties.minor))
    if found is None:
        raise ValueError(
            f"{properties.name} is of no generation that predictions know; "
            f"--generation says the most similar one"
        )
    return found


def device_of(team: Team, generation: str | None) -> Device:
    if not team.has_gpu:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        units = torch.get_num_threads()
        return Device("processor", generation or "ampere", pages / team.domain, units)
    properties = torch.cuda.get_device_properties(team.device)
    return Device(
        properties.name,
        generation or generation_of(team.device),
        properties.total_memory,
        properties.multi_processor_count,
    )
