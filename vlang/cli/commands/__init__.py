"""The commands of vlang, one file each."""
