"""Reductions over vertices: one partial result a block of BLOCK vertices. bind, identity, gather, merge and put are
written from the program and stand above. A block is reduced in four strips, side by side, merged in order."""


def fold(frame, tasks, count, counter):
    env = bind(frame)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        strip = (high - low) // 4
        a, b, c, d = identity(env), identity(env), identity(env), identity(env)
        for i in range(low, low + strip):
            a = gather(env, a, i)
            b = gather(env, b, i + strip)
            c = gather(env, c, i + 2 * strip)
            d = gather(env, d, i + 3 * strip)
        for i in range(low + 4 * strip, high):
            d = gather(env, d, i)
        put(env, low // BLOCK, merge(env, merge(env, merge(env, a, b), c), d))
