import { expect, test } from 'vitest'
import { extractText } from '../../server/files/sandbox/extract.ts'
import { samples } from '../kit/sample-files/corpus.ts'

/** Returns the lines of a reference that the text does not contain in their order. */
function missingIn(text: string, reference: readonly string[]): string[] {
  let at = 0
  return reference.filter((line) => {
    const found = text.indexOf(line, at)
    if (found >= 0) at = found + line.length
    return found < 0
  })
}

test.for(Object.entries(samples))('%s gives all of its reference text, in its order', async ([, sample]) => {
  const found = await extractText(sample.bytes, sample.kind, 100_000)

  expect(found).toMatchObject({ truncated: false, notes: [] })
  expect(missingIn('text' in found ? found.text : '', sample.reference)).toEqual([])
})

/** These words stand in deleted or machine-readable parts of the samples. */
test.for(['Streichung', 'steal', 'FORMCHECKBOX', 'Alt'])('the text of no sample has %s in it', async (word) => {
  for (const { bytes, kind } of Object.values(samples))
    expect(await extractText(bytes, kind, 100_000)).toMatchObject({
      text: expect.not.stringMatching(new RegExp(`\\b${word}\\b`)),
    })
})
