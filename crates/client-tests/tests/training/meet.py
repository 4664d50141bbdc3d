"""Finds the other replicas of a job by the variables of a framework, as the framework does. The first one
listens, the others tell it who they are, and all learn who was there."""

import json
import os
import socket
import sys
import time

env = os.environ
assert env["MINE"] == "kept"


def tensorflow():
    config = json.loads(env["TF_CONFIG"])
    assert config["environment"] == "cloud"
    cluster, task = config["cluster"], config["task"]
    everybody = cluster["chief"] + cluster["worker"]
    own = cluster[task["type"]][task["index"]]
    host, port = everybody[0].rsplit(":", 1)
    return everybody.index(own), len(everybody), host, port


def pytorch():
    assert (env["PET_MASTER_ADDR"], env["PET_NODE_RANK"]) == (env["MASTER_ADDR"], env["RANK"])
    assert (env["PET_NNODES"], env["PET_NPROC_PER_NODE"]) == ("3", "auto")
    return env["RANK"], env["WORLD_SIZE"], env["MASTER_ADDR"], env["MASTER_PORT"]


def xgboost():
    assert env["WORKER_ADDRS"] == "job-worker-0,job-worker-1"
    return env["RANK"], env["WORLD_SIZE"], env["MASTER_ADDR"], env["MASTER_PORT"]


def paddle():
    host, port = env["PADDLE_MASTER"].rsplit(":", 1)
    rank = socket.gethostname().rsplit("-", 1)[1]
    assert env["PADDLE_JOB_ID"] == "job"
    return rank, env["PADDLE_NNODES"], host, port


def jax():
    return env["PROCESS_ID"], env["NUM_PROCESSES"], env["COORDINATOR_ADDRESS"], env["COORDINATOR_PORT"]


def connect(address):
    deadline = time.monotonic() + 90
    while True:
        try:
            return socket.create_connection(address, timeout=90)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


kinds = {"TFJob": tensorflow, "PyTorchJob": pytorch, "XGBoostJob": xgboost, "PaddleJob": paddle, "JAXJob": jax}
rank, size, host, port = kinds[sys.argv[1]]()
rank, size, port = int(rank), int(size), int(port)
if rank == 0:
    with socket.create_server(("", port)) as server:
        peers = [server.accept()[0].makefile("rw") for _ in range(size - 1)]
    met = sorted([rank] + [int(peer.readline()) for peer in peers])
    for peer in peers:
        print(met, file=peer, flush=True)
else:
    peer = connect((host, port)).makefile("rw")
    print(rank, file=peer, flush=True)
    met = json.loads(peer.readline())
print(f"{rank} of {size} has met {met}")
