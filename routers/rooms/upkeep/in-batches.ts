const BATCH = 1000

/** Rows that are read so many at a time, each time those behind the name of the last one. */
export async function* inBatches<Row extends { name: string }>(
  read: (after: string, limit: number) => Promise<Row[]>,
  first: string,
): AsyncGenerator<Row, void> {
  for (let after = first; ; ) {
    const rows = await read(after, BATCH)
    yield* rows
    if (rows.length < BATCH) return
    after = rows.at(-1)?.name ?? ''
  }
}
