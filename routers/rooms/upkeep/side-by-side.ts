interface Named {
  name: string
}

/** Pairs of two series that are each in the order of their names; one side is absent where the other has a name alone. */
export async function* sideBySide<A extends Named, B extends Named>(
  left: AsyncIterable<A>,
  right: AsyncIterable<B>,
): AsyncGenerator<[A | undefined, B | undefined], void> {
  const [lefts, rights] = [left[Symbol.asyncIterator](), right[Symbol.asyncIterator]()]
  let [a, b] = [await next(lefts), await next(rights)]
  while (a ?? b) {
    const name = firstOf(a, b)
    const pair: [A | undefined, B | undefined] = [named(a, name), named(b, name)]
    yield pair
    if (pair[0]) a = await next(lefts)
    if (pair[1]) b = await next(rights)
  }
}

const firstOf = (...items: (Named | undefined)[]) => items.flatMap((item) => item?.name ?? []).sort()[0]

const named = <T extends Named>(item: T | undefined, name: string | undefined) =>
  item?.name === name ? item : undefined

async function next<T>(items: AsyncIterator<T>): Promise<T | undefined> {
  const { done, value } = await items.next()
  return done ? undefined : value
}
