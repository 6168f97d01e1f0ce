# What a JupyterHub runs at a student's start (README.md, beside this file): fetch the lessons, bring the student's copies
# up to date, start the server. Nothing here deletes a file, and the server starts even if a line before it fails.
cd "$HOME"
timeout 60 gitpuller "$LESSONS_REPOSITORY" "" lessons
(cd lessons && python -m tools.learner.workbook)
ours="$HOME/lessons/tools/learner/jupyter" # what `make lab` gives JupyterLab: explorers that work on the second day
export JUPYTER_CONFIG_PATH="$ours" PYTHONSTARTUP="$ours/startup.py" PYTHONPATH="$HOME/lessons" JUPYTER_PREFER_ENV_PATH=1
exec jupyterhub-singleuser "$@"
