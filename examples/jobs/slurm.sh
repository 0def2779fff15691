#!/bin/bash
#SBATCH --job-name=spirals-slurm
#SBATCH --partition=gpu            # Muster has no partitions and prints a note.
#SBATCH --gres=gpu:2
#SBATCH --cpus-per-task=1
#SBATCH --mem=200M
#SBATCH --time=0:30:00
#SBATCH --signal=TERM@20
#SBATCH --chdir=build/release/bin

# A script written for Slurm, submitted unchanged. The first argument is the number of steps:
#   muster submit examples/jobs/slurm.sh 5000
exec ./trainer --steps "${1:-20000}" --load-ms 2 --checkpoint slurm.ckpt
