import { createClient } from '../../../facades/client/index.ts'
import * as web from '../../../facades/web/browser/crypto.ts'
import { overCurl } from './curl.ts'
import { type Message, overClient, type Surface } from './surface.ts'

const [url = '', cydBy = '', adaToken = '', bobToken = '', cydToken = '', bobId = '', salt = ''] = process.argv.slice(2)
const salts: web.Salts = { userdata: salt, passkey: salt, backup: salt, invitation: salt, ai: salt }
const [adaClient, bobClient] = [adaToken, bobToken].map((token) => createClient({ url, token })) as [Admin, Admin]
type Admin = ReturnType<typeof createClient>
const overCurlOrClient = (token: string) =>
  cydBy === 'curl' ? overCurl(`${url}/api/svc/v1`, token) : overClient(createClient({ url, token }))

/** Signs a person in with their own keys and the keys of the rooms that they are in. */
async function enter(surface: Surface, passkey: string) {
  const key = await web.passkeyKey(passkey, salts)
  const { publicKey, keychain } = await web.makeKeychain(key)
  await surface.storeKeys(publicKey, keychain)
  const [entry] = keychain
  if (!entry) throw new Error('there is no private key')
  const privateKey = await web.importPrivateKey(await web.unsealEntry(key, entry))
  return { ...surface, publicKey, privateKey, keys: new Map<number, string>() }
}
type Person = Awaited<ReturnType<typeof enter>>

const seal = (person: Person, text: string, keyEpoch: number) => web.sealMessage(person.keys.get(keyEpoch) ?? '', text)
const write = async (person: Person, text: string, keyEpoch: number) =>
  person.write(room, await seal(person, text, keyEpoch), keyEpoch)
const open = async ({ keys }: Person, { number, content, keyEpoch }: Message) =>
  `${number} ${content === null ? '' : await web.openMessage(keys.get(keyEpoch) ?? '', content)}`
const readAll = async (person: Person) =>
  Promise.all((await person.messages(room)).map((message) => open(person, message)))
const keysFor = async (person: Person) =>
  new Map(await web.openStoredRoomKeys(person.privateKey, await person.storedKeys(room), person.keys))

const ada = await enter(overClient(adaClient), 'Passkey_ada')
const bob = await enter(overClient(bobClient), 'Passkey_bob')
const cyd = await enter(overCurlOrClient(cydToken), 'Passkey_cyd')

// Ada creates a room without history for new members, and invites Bob by his public key.
const first = web.makeKey()
const roomDescription = await web.sealRoomText(first, 'About chess')
const { id: room } = await adaClient.rooms.create.mutate({ name: 'Chess', roomDescription, sharesEarlierKeys: false })
ada.keys.set(0, first)
const invite = async (wrappedKey: string, more: { user?: string; proofHash?: string }, keyEpoch = 0) =>
  (await adaClient.roomMembers.create.mutate({ room, role: 'editor', wrappedKey, keyEpoch, ...more })).id
const forBob = web.writeSealedRoomKey(await web.inviteByPublicKey(bob.publicKey, first))
const { meta, data } = await bobClient.roomMembers.accept.mutate({ id: await invite(forBob, { user: bobId }) })
bob.keys.set(meta.keyEpoch, await web.openByPrivateKey(bob.privateKey, web.readSealedRoomKey(meta.wrappedKey)))

// Cyd joins by a link, the secret of which the service never learns.
const { secret, proofHash } = await web.makeInvitationSecret()
const forLink = web.writeSealedRoomKey(await web.inviteByHash(secret, first, salts))
const invitation = await invite(forLink, { proofHash })
const proof = await web.invitationProof(secret)
const lookedAt = await cyd.preview(invitation, proof)
const accepted = await cyd.accept(invitation, proof)
cyd.keys.set(0, await web.openByHash(secret, web.readSealedRoomKey(accepted.wrappedKey), salts))

await write(ada, 'e4', 0)
const mistaken = await write(bob, 'e6', 0)
await bob.edit(mistaken, await seal(bob, 'e5', 0))
const greeting = await write(cyd, 'Hello', 0)
await cyd.edit(greeting, await seal(cyd, 'Hello, all', 0))
const { position } = await cyd.changes(room)
const before = await Promise.all([ada, bob, cyd].map(readAll))
await cyd.markRead(room, greeting)

// While Cyd is away, Bob is removed and the room gets its next key.
await adaClient.roomMembers.delete.mutate({ id: data.id })
const { meta: recipients } = await adaClient.roomKeys.recipients.query({ id: room })
const next = await web.makeNextRoomKey(recipients, ada.keys)
await adaClient.roomKeys.rekey.mutate({ id: room, ...next.request })
ada.keys = await keysFor(ada)
await write(ada, 'Nf3', 1)
const refusal = await write(bob, 'Nc6', 0).catch(({ code }: { code: string }) => code)

// Cyd catches up from the stored position.
const { changes } = await cyd.changes(room, position)
cyd.keys = await keysFor(cyd)
const created = changes.filter(({ kind }) => kind === 'room-messages.created')
const caughtUp = await Promise.all(created.map(async ({ subject }) => open(cyd, await cyd.message(subject))))

process.stdout.write(
  JSON.stringify({
    lookedAt,
    before,
    refused: refusal,
    caughtUp,
    unusable: next.unusable,
    kinds: changes.map(({ kind }) => kind),
    description: await web.openRoomText(new Map([[1, cyd.keys.get(1) ?? '']]), (await cyd.description(room)) ?? ''),
    edited: (await cyd.messages(room)).map(({ editedAt }) => editedAt !== null),
  }),
)
