import { describe, test } from 'vitest'
import { isMissing, type Part } from './installed.ts'

/** Tests that talk to these parts. Where one is missing they are skipped, but never in CI: there that is an error. */
export const describeWith = (...parts: Part[]) => describe.skipIf(parts.some(isMissing))
export const testWith = (...parts: Part[]) => test.skipIf(parts.some(isMissing))
