import type * as browser from '../../../facades/web/browser/crypto.ts'

/** The inputs of the scenario, which can be serialized for a browser. */
export interface FileScenarioOptions {
  base: string
  /** The tokens of two members of the room. */
  ada: string
  bob: string
  room: string
  roomKey: string
  bytes: number
}

/**
 * Ada encrypts a file and sends it, Bob gets it and opens it as it comes. Then what he got is altered in every way, and opened
 * again. Names nothing outside of itself: it runs in Node and in Chromium.
 */
export async function playFileScenario(
  web: typeof browser,
  { base, ada, bob, room, roomKey, bytes }: FileScenarioOptions,
) {
  const CHUNK = 65_536 + 16
  const HEADER = 44
  const keys = new Map([[3, roomKey]])
  const plain = Uint8Array.from({ length: bytes }, (_, at) => (at * 7 + (at >> 8)) & 255)
  const seal = async (): Promise<Uint8Array> => {
    const sealing = new Blob([plain]).stream().pipeThrough(await web.sealFile(roomKey, 3))
    return new Uint8Array(await new Response(sealing).arrayBuffer())
  }
  const opens = async (stream: ReadableStream<Uint8Array>, by: browser.RoomKeys = keys) => {
    // The stream is read in parts, as a browser's `Response` hides the error of a stream.
    const reader = stream.pipeThrough(web.openFile(by)).getReader()
    let at = 0
    for (let step = await reader.read(); !step.done; step = await reader.read())
      for (const byte of step.value) if (byte !== plain[at++]) return false
    return at === bytes
  }

  const form = new FormData()
  const sealed = await seal()
  form.append('clientEncrypted', 'true')
  form.append('file', new Blob([sealed as Uint8Array<ArrayBuffer>]), 'plan.bin')
  const headers = { authorization: `Bearer ${ada}` }
  const uploaded = await fetch(`${base}/attachments/actions/upload`, { method: 'POST', headers, body: form })
  const { data } = (await uploaded.json()) as { data: { id: string; attributes: { mime: string; bytes: number } } }
  const relationships = {
    room: { data: { type: 'rooms', id: room } },
    attachments: { data: [{ type: 'attachments', id: data.id }] },
  }
  const messageResponse = await fetch(`${base}/room-messages`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({ data: { type: 'room-messages', attributes: { keyEpoch: 0 }, relationships } }),
  })
  const download = await fetch(`${base}/attachments/${data.id}/actions/download`, {
    headers: { authorization: `Bearer ${bob}` },
  })
  const isOpened = await opens(download.body as ReadableStream<Uint8Array>)

  const other = await seal()
  const chunks = (from: Uint8Array) => (number: number) =>
    from.subarray(HEADER + number * CHUNK, HEADER + (number + 1) * CHUNK)
  const [own, foreign] = [chunks(sealed), chunks(other)]
  const head = sealed.subarray(0, HEADER)
  const behind = (number: number) => sealed.subarray(HEADER + number * CHUNK)
  const turned = sealed.slice()
  turned[HEADER + 5] = (turned[HEADER + 5] ?? 0) ^ 1
  const ofOtherKey = sealed.slice()
  ofOtherKey[11] = 4
  const altered: Record<string, [Uint8Array[], browser.RoomKeys?]> = {
    'a bit is turned': [[turned]],
    'the end is cut off': [[sealed.subarray(0, -10)]],
    'the last chunk is cut off': [[sealed.subarray(0, HEADER + 2 * CHUNK)]],
    'all chunks are cut off': [[head]],
    'the header is cut off': [[sealed.subarray(HEADER)]],
    'chunks are reordered': [[head, own(1), own(0), behind(2)]],
    'a chunk is repeated': [[head, own(0), own(0), behind(2)]],
    'a chunk is left out': [[head, own(0), behind(2)]],
    'a chunk is that of another file': [[head, foreign(0), behind(1)]],
    'something is added': [[sealed, own(1)]],
    'it names another key': [[ofOtherKey], new Map([...keys, [4, web.makeKey()]])],
    'its key is not there': [[sealed], new Map()],
    'it is nothing': [[]],
  }
  const failures = Object.entries(altered).map(async ([what, [parts, by]]) => {
    const stream = new Blob(parts as Uint8Array<ArrayBuffer>[]).stream()
    return [what, await opens(stream, by).catch(({ name }: Error) => name)] as const
  })
  return {
    statuses: [uploaded.status, messageResponse.status, download.status],
    stored: [data.attributes.mime, data.attributes.bytes === web.sealedFileSize(bytes)],
    opened: isOpened,
    failures: Object.fromEntries(await Promise.all(failures)),
  }
}
