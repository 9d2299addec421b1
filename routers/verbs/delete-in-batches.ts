/** Deletes rows in batches until a batch is not full. */
export async function deleteInBatches(
  batch: number,
  work: () => Promise<readonly unknown[]>,
): Promise<{ deleted: number }> {
  let deleted = 0
  for (let last = batch; last === batch; deleted += last) last = (await work()).length
  return { deleted }
}
