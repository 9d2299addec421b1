/** Deletes rows by batches, until one has fewer than it may. */
export async function deleteInBatches(
  batch: number,
  work: () => Promise<readonly unknown[]>,
): Promise<{ deleted: number }> {
  let deleted = 0
  for (let last = batch; last === batch; deleted += last) last = (await work()).length
  return { deleted }
}
