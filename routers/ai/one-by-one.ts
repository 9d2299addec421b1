/**
 * The parts of batches, of which the first was taken already. Who ends it early ends the generator of the batches.
 * One reader takes them, each after the one before: of two steps at once, the later may find it done too early.
 */
export function oneByOne<Part>(
  first: IteratorResult<readonly Part[], void>,
  rest: AsyncGenerator<readonly Part[], void>,
): AsyncGenerator<Part, void> {
  const waiting: Part[] = [...(first.value ?? [])]
  const over = { done: true, value: undefined } as const
  const parts: AsyncGenerator<Part, void> = {
    // A generator would wait three more times for each part.
    async next() {
      while (waiting.length === 0) {
        const step = await rest.next()
        if (step.done) return step
        waiting.push(...step.value)
      }
      return { done: false, value: waiting.shift() as Part }
    },
    async return() {
      waiting.length = 0
      await rest.return()
      return over
    },
    async throw(error) {
      waiting.length = 0
      await rest.throw(error)
      return over
    },
    [Symbol.asyncIterator]: () => parts,
    [Symbol.asyncDispose]: async () => void (await parts.return()),
  }
  return parts
}
