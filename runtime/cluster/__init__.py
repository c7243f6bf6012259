"""One run on several ranks: transports, the exchange of values between ranks, and the machine of a rank."""
