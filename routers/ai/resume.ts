/** What a generator has left, with the first step, which was taken already. Who ends it early ends the generator. */
export function resume<Part>(
  first: IteratorResult<Part, void>,
  rest: AsyncGenerator<Part, void>,
): AsyncGenerator<Part, void> {
  let taken: typeof first | undefined = first
  const resumed: AsyncGenerator<Part, void> = {
    // A generator around the other one would wait three more times for each part.
    next() {
      const step = taken
      taken = undefined
      return step ? Promise.resolve(step) : rest.next()
    },
    return(value) {
      taken = undefined
      return rest.return(value)
    },
    throw(error) {
      taken = undefined
      return rest.throw(error)
    },
    [Symbol.asyncIterator]: () => resumed,
    [Symbol.asyncDispose]: async () => void (await resumed.return()),
  }
  return resumed
}
