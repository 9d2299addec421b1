import { base, type Client, type JsonApiApp, type Resource, toMany, toOne } from '../json-api/client.ts'

export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/**
 * Options of a wait for the text of a file: its process has a low priority, and beside busy ones takes a hundred times as
 * long as alone.
 */
export const UNTIL_READ = { timeout: 280_000, interval: 50 }

interface UploadOptions {
  name?: string
  /** Fields of the form in front of the file. */
  fields?: Record<string, string>
  /** The media type that a browser would send; the service checks the bytes. */
  type?: string
}

/** Uploads a file as a browser does. */
export async function upload(
  svc: Pick<JsonApiApp, 'url'>,
  token: string | undefined,
  bytes: Uint8Array | string,
  { name = 'notes.txt', fields = {}, type = 'text/plain' }: UploadOptions = {},
) {
  const form = new FormData()
  for (const [field, value] of Object.entries(fields)) form.append(field, value)
  form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>], { type }), name)
  return sendForm(svc, token, form)
}

export async function sendForm(
  { url }: Pick<JsonApiApp, 'url'>,
  token: string | undefined,
  body: FormData | ReadableStream | string,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${url}${base}/attachments/actions/upload`, {
    method: 'POST',
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit)
  const text = await response.text()
  const { data, errors = [] } = JSON.parse(text || '{}') as { data: Resource; errors?: { code: string }[] }
  const location = response.headers.get('location')
  return { status: response.status, text, location, one: data, errors }
}

/** Downloads an attachment. */
export async function download(
  svc: Pick<JsonApiApp, 'send'>,
  token: string | undefined,
  id: string,
  headers: Record<string, string> = {},
) {
  const response = await svc.send('GET', `${base}/attachments/${id}/actions/download`, { token, headers })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

/** Sends a message with attachments. */
export const sendAttachments = (by: Pick<Client, 'create'>, room: string, ids: readonly string[], more: object = {}) =>
  by.create('room-messages', more, { room: toOne('rooms', room), attachments: toMany('attachments', ids) })

/** Lists the names of the stored files. */
export async function listStoredFiles({ services }: JsonApiApp): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of services.files.attachments.list()) names.push(name)
  return names.sort()
}
