"""The MPI job of a run: functions that start the job, and functions that read its properties in a rank."""
