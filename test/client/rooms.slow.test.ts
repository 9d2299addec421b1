import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PackedClient, packClient, root } from '../kit/client/packed.ts'
import { type RoomsApp, startRooms } from '../kit/rooms/rooms.ts'
import { salt } from '../kit/web/crypto.ts'

const MINUTES = 300_000

let svc: RoomsApp
let packed: PackedClient
beforeAll(async () => {
  ;[svc, packed] = await Promise.all([startRooms(), packClient()])
  await copyProgram(packed.consumer)
}, MINUTES)
afterAll(() => svc[Symbol.asyncDispose]())

/** Copies the program so that it imports the published package instead of the sources. */
async function copyProgram(to: string): Promise<void> {
  for (const name of ['rooms.ts', 'surface.ts', 'curl.ts']) {
    const source = await readFile(join(root, 'test/client/program', name), 'utf8')
    const text = source
      .replaceAll('../../../facades/client/index.ts', 'svc/client')
      .replaceAll('../../../facades/web/browser/crypto.ts', 'svc/crypto')
    await writeFile(join(to, name), text)
  }
}

test('the program about rooms compiles with the packed client', { timeout: MINUTES }, async () => {
  const types = { types: ['node'], typeRoots: [join(root, 'node_modules/@types')] }

  expect(await packed.compile('rooms', { ...types, noEmit: true, allowImportingTsExtensions: true })).toBe('')
})

test.for(['client', 'curl'])('three people meet in a room, one of them by %s', { timeout: MINUTES }, async (by) => {
  const abilities = ['user', 'read', 'write', 'keychain'] as const
  const [ada, bob, cyd] = await Promise.all([1, 2, 3].map(() => svc.user({ abilities: [...abilities] })))
  const tokens = [ada, bob, cyd].map((person) => person?.token ?? '')

  const outcome = await packed.run('rooms.ts', svc.url, by, ...tokens, String(bob?.id), salt)

  const all = ['1.000 e4', '2.000 e5', '3.000 Hello, all']
  expect(outcome).toEqual({
    lookedAt: 'Chess',
    before: [all, all, all],
    refused: 'not_found',
    caughtUp: ['4.000 Nf3'],
    unusable: [],
    kinds: ['room-members.updated', 'room-members.deleted', 'rooms.updated', 'rooms.updated', 'room-messages.created'],
    description: 'About chess',
    edited: [false, true, true, false],
  })
})
