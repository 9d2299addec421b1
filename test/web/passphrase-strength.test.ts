import { expect, test } from 'vitest'
import { rateStrength } from '../../facades/web/app/shared/passphrase-strength.ts'

test.for([
  ['lighthouse', 'weak'],
  ['zwei Wörter', 'weak'],
  ['again again again again again', 'weak'],
  ['7777777777777777', 'weak'],
  ['x7#kQ9!v', 'fair'],
  ['Correct-Horse-7!', 'fair'],
  ['sunset over 3 lakes', 'fair'],
  ['correct horse battery staple', 'strong'],
  ['Vier Möwen über dem Leuchtturm', 'strong'],
] as const)('the passphrase «%s» is %s', ([passphrase, strength]) => {
  expect(rateStrength(passphrase)).toBe(strength)
})
