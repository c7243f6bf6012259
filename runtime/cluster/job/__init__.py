"""The job of a run on several ranks: functions that start the job, and functions with which a rank reads its
properties.
"""
