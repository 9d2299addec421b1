import { expect } from 'vitest'
import type { TestApp } from '../app.ts'
import { buildFirstKeys, type TestBrowser } from '../browser.ts'

/** Every entry of every keychain. */
export const readKeychains = (svc: TestApp) =>
  svc.rows('select user_id, key, key_type, value from user_keychain_values order by user_id, id')

/** Every backup of a passkey. */
export const readPasskeyBackups = (svc: TestApp) =>
  svc.rows('select user_id, ciphertext, iv, tag from passkey_backups order by user_id')

/** Reads all people except the AI user. */
export const readPeople = (svc: TestApp) =>
  svc.rows('select id, username, email, name, role, public_key from users where id > 1')

/** Sends the first keys of whoever has signed in. */
export const sendFirstKeys = (browser: TestBrowser, keys: unknown = buildFirstKeys()) =>
  browser.send('POST', '/handshake', { body: keys })

/** Checks that no keys were stored. */
export async function expectNoKeys(svc: TestApp): Promise<void> {
  expect(await readKeychains(svc)).toEqual([])
  expect(await readPasskeyBackups(svc)).toEqual([])
  expect(await svc.rows('select id from users where public_key is not null')).toEqual([])
}

/** Removes everybody but the AI user, so that the next test of a shared service finds nobody. */
export async function removeEverybody(svc: TestApp): Promise<void> {
  for (const { id } of await svc.rows<{ id: number }>('select id from users where id > 1'))
    await svc.host.admin.removeUser({ user: { id } })
}
