"""The job of a run on several ranks: functions that start the job, and functions that read its properties in a rank."""
