"""Is one rank: prints a line when it has begun, and after each step until the first collective."""
import os


def say(step, *more):
    os.write(1, (" ".join(["step", step, os.environ["RANK"], *more]) + "\n").encode())


say("begun")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

say("imported")
dist.init_process_group("gloo")
say("joined")
total = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(total)
say("reduced", str(int(total)))
dist.destroy_process_group()
