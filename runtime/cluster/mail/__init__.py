"""The transport of ranks that send single messages to each other. Ray carries the messages."""
