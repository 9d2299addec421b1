/** What a generator has left, with the first step, which was taken already. Who ends it early ends the generator. */
export async function* resume<Part>(
  first: IteratorResult<Part, void>,
  rest: AsyncGenerator<Part, void>,
): AsyncGenerator<Part, void> {
  try {
    for (let step = first; !step.done; step = await rest.next()) yield step.value
  } finally {
    await rest.return()
  }
}
