import { expect, test } from 'vitest'
import { createConnectRequests } from '../../server/stores/connect-requests.ts'

const APP_KEY = 'base64:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const PUBLIC_KEY = 'UEVN|V0VC'
const query = { appId: '7', version: '2.5.0', extAppUserId: 'ext-42' }
const known =
  'QUFFQ0F3UUZCZ2NJQ1FvTHw5dXB3MW05KytVcGJGRnBLOFU0ZHFBPT18THZLdVpDS2tRME9CdDhnV011TlV1TFliOUVGRFp2a3NhM1FqS2RIZ1NtUHI0UUFSUFJRQURYMmYzVGdKVDdGcTRvZlVub2xSRlFKQ0ZucU9HdDBraG10Z2V5RVdtdE9BMnFhKzU5UlBkZmtTaVN5bGxuK3ROdCtwWDVuQ3FWWVljempOcUt3L0FhTGpUbWlDL1dVN2N2V2xYVGJMNWFKUU4xWmk0RDNkcUNUcG10WEtZK283NjBtQ0RMUEMzZUd0bDJJaFNybS91ZlBVMHFZVVlOSllYWWRF'

test('a connect request has the bytes that existing front ends and apps know', () => {
  const requests = createConnectRequests(APP_KEY, () => Buffer.from('000102030405060708090a0b', 'hex'))
  const made = { publicKey: PUBLIC_KEY, expiresAt: new Date(1_750_000_900_000) }

  expect(requests.write(query, made)).toBe(known)
  expect(requests.read(known), 'it has expired').toBeUndefined()
})

test('a connect request is read for one app by its key holder until expiry', () => {
  const requests = createConnectRequests(APP_KEY)
  const altered = { ...query, extAppUserId: 'Zoë/😀' }
  const text = requests.write(altered, { publicKey: PUBLIC_KEY, expiresAt: new Date(Date.now() + 60_000) })

  expect(requests.read(text)).toMatchObject(altered)
  expect(requests.read(text)?.isFor(PUBLIC_KEY)).toBe(true)
  expect(requests.read(text)?.isFor('UEVN|V0VD')).toBe(false)
  expect(requests.read(`${text}====`), 'another text of the same bytes').toBeUndefined()
  expect(createConnectRequests(APP_KEY.replace('MD', 'ME')).read(text)).toBeUndefined()
  for (const wrong of ['', 'abc', text.slice(4), text.slice(0, -8), Buffer.from('a|b|c').toString('base64')])
    expect(requests.read(wrong), wrong).toBeUndefined()
})
