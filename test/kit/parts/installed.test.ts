import { expect, test, vi } from 'vitest'

/** The module as it is on a machine without Chromium. */
async function withoutChromium(ci: string) {
  vi.stubEnv('CHROMIUM_PATH', '/nowhere/chromium')
  vi.stubEnv('CI', ci)
  // Loaded once more: it looks for programs when it is loaded.
  const copy = './installed.ts?without=chromium'
  return (await import(copy)) as typeof import('./installed.ts')
}

test('a missing part skips its tests, and a note names its Debian package', async () => {
  const { isMissing, missingPartsNote } = await withoutChromium('')
  expect(isMissing('chromium')).toBe(true)
  expect(missingPartsNote()).toMatch(/^Skipped for want of: .*chromium.* \(apt-get install .*chromium.*\)$/)
})

test('in CI a missing part is an error', async () => {
  const { isMissing } = await withoutChromium('true')
  expect(() => isMissing('chromium')).toThrow('chromium is not installed, and in CI nothing is skipped.')
})
