import { expect, test } from 'vitest'
import { findPasskeyFault } from '../../../facades/web/browser/crypto.ts'

const known = ['ada.lovelace', 'ada.lovelace@example.org', 'Ada Lovelace', 'svc']
const findFault = (passkey: string, isRestricted = false) => findPasskeyFault(passkey, { isRestricted, known })

test.for([
  'Correct-Horse-7!',
  'Datakey_123',
  'zwei Wörter',
  'ключ от двери',
  '鍵は机の引き出しの中',
  'sunset over 3 lakes',
  'password of the lighthouse',
  'x7#kQ9!v',
  '73519046',
])('the passphrase «%s» may be chosen', (passkey) => {
  expect(findFault(passkey)).toBeUndefined()
})

test.for(['', 'x7#kQ9!', '鍵は机の中', '🔑🔑🔑🔑🔑🔑🔑'])('the passphrase «%s» is too short', (passkey) => {
  expect(findFault(passkey)).toBe('short')
})

test.for([
  'password',
  'Password1!',
  'P@ssw0rd',
  'pa55word',
  'passwordpassword',
  'Passwort123',
  '!!geheimnis!!',
  'iloveyou',
  '12345678',
  '87654321',
  '1234567890',
  '123123123',
  'abcdefgh',
  'qwertz123',
  'qwertyuiop',
  'asdfghjkl1',
  '1q2w3e4r',
  'aaaaaaaa',
  'abababab',
  '        ',
  '11112222',
  'ada.lovelace',
  'Ada.Lovelace@example.org',
  'adalovelace1'.replace('adal', 'ada.l'),
  'Ada Lovelace 99',
  'svc12345',
])('the passphrase «%s» is easy to guess', (passkey) => {
  expect(findFault(passkey)).toBe('guessable')
})

test.for(['two words', 'Schlüssel7', 'with.a.dot', 'line\nbreak', 'with~tilde'])(
  'the passphrase «%s» has other characters than a restricted one',
  (passkey) => {
    expect(findFault(passkey, true)).toBe('characters')
    expect(findFault('aZ09!@#$%^&*()_+-', true)).toBeUndefined()
  },
)
