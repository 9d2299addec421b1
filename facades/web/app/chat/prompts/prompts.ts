import { useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../../shared/api/client.ts'
import { InputError, isOverQuota } from '../../shared/api/error-text.ts'
import type { ConversationKey } from '../../shared/conversation-key.ts'
import { isRecord, parseRecord } from '../../shared/local-store.ts'
import { saveFile } from '../../shared/save-file.ts'
import { useSession } from '../../shared/session.tsx'
import { t } from '../../shared/text/labels.ts'

export interface PromptContent {
  name: string
  /** Empty if this browser cannot decrypt the prompt. */
  text: string
}

/** A prompt that the person can insert. */
export interface Prompt extends PromptContent {
  /** Unlike all others. */
  key: string
  /** The id of an own prompt, which the person can change; undefined for one of administrators. */
  ownId: number | undefined
}

const QUERY_KEY = ['prompts']

/** Reads the prompts of administrators, then the person's own, which it decrypts. Others' changes count at once. */
export function usePrompts() {
  const { conversationKey: key } = useSession()
  return useQuery({
    queryKey: QUERY_KEY,
    queryFn: async ({ signal }): Promise<Prompt[]> => {
      const { own, offered } = await api.prompts.list.query(undefined, { signal })
      const opened = await Promise.all(own.map(({ id, sealed }) => openPrompt(key, id, sealed)))
      return [
        ...offered.map(({ id, name, text }) => ({ key: `offered ${id}`, ownId: undefined, name, text })),
        ...opened.toSorted((one, other) => one.name.localeCompare(other.name)),
      ]
    },
  })
}

async function openPrompt(key: ConversationKey, id: string, sealed: string): Promise<Prompt> {
  const { name, text } = parseRecord(await key.open(sealed).catch(() => '{}')) ?? {}
  const isReadable = typeof name === 'string' && typeof text === 'string'
  const content = isReadable ? { name, text } : { name: t('app.prompts.unreadable'), text: '' }
  return { key: `own ${id}`, ownId: Number(id), ...content }
}

const writeContent = ({ name, text }: PromptContent): string => JSON.stringify({ name, text })

const seal = (key: ConversationKey, content: PromptContent) => key.seal(writeContent(content))

const refresh = () => queryClient.invalidateQueries({ queryKey: QUERY_KEY })

/** Adds own prompts; throws an error in words if there are too many. */
async function addPrompts(prompts: string[]): Promise<void> {
  try {
    await api.prompts.create.mutate({ prompts })
  } catch (error) {
    throw isOverQuota(error) ? new InputError(t('app.prompts.full', { count: MAX_PROMPTS })) : error
  }
}

/** Adds an own prompt, or changes the one with this id. */
export async function savePrompt(key: ConversationKey, content: PromptContent, ownId: number | undefined) {
  const sealed = await seal(key, content)
  if (ownId === undefined) await addPrompts([sealed])
  else await api.prompts.update.mutate({ id: ownId, sealed })
  await refresh()
}

export async function deletePrompt(ownId: number): Promise<void> {
  await api.prompts.delete.mutate({ id: ownId })
  await refresh()
}

/** The longest name and text, in characters, and the most prompts and bytes of a file. */
export const [MAX_NAME, MAX_TEXT] = [120, 10_000]
const [MAX_PROMPTS, MAX_BYTES] = [200, 8_000_000]

/** Saves own prompts as a file that `importPrompts` reads, without those that this browser cannot decrypt. */
export function exportPrompts(prompts: readonly PromptContent[]): void {
  const readable = prompts.filter(({ text }) => text !== '')
  const file = { prompts: readable.map(({ name, text }) => ({ name, text })) }
  saveFile(new Blob([`${JSON.stringify(file, null, 2)}\n`], { type: 'application/json' }), 'prompts.json')
}

/** Characters of ciphertext that are sent at once. */
const BATCH = 200_000

export interface ImportResult {
  /** The number of prompts that were added, which are the first ones of the file. */
  count: number
  /** The number of those that the person had already. */
  known: number
  /** The number of those that were not added because one was refused. */
  left: number
  /** Why they were not; undefined if there are none. */
  error?: unknown
}

/**
 * Adds the prompts of a file in order, until one is refused, without those that the person has already. Throws if the file
 * has something else.
 */
export async function importPrompts(
  key: ConversationKey,
  file: File,
  own: readonly PromptContent[],
): Promise<ImportResult> {
  if (file.size > MAX_BYTES) throw new InputError(t('app.prompts.fileTooLarge'))
  const contents = readPrompts(await file.text())
  const existing = new Set(own.map(writeContent))
  const added = contents.filter((content) => !existing.has(writeContent(content)))
  const prompts = await Promise.all(added.map((content) => seal(key, content)))
  const known = contents.length - added.length
  let count = 0
  try {
    for (const batch of splitIntoBatches(prompts)) {
      await addPrompts(batch)
      count += batch.length
    }
    return { count, known, left: 0 }
  } catch (error) {
    return { count, known, left: added.length - count, error }
  } finally {
    await refresh()
  }
}

function splitIntoBatches(prompts: readonly string[]): string[][] {
  const batches: string[][] = []
  let size = BATCH
  for (const prompt of prompts) {
    size += prompt.length
    if (size > BATCH) {
      batches.push([])
      size = prompt.length
    }
    batches.at(-1)?.push(prompt)
  }
  return batches
}

/** Reads the text of a file of prompts; throws an error in words at the first thing that is none. */
function readPrompts(text: string): PromptContent[] {
  const prompts = parseRecord(text)?.['prompts']
  if (!Array.isArray(prompts)) throw new InputError(t('app.prompts.noFile'))
  if (prompts.length > MAX_PROMPTS) throw new InputError(t('app.prompts.tooMany', { count: MAX_PROMPTS }))
  return prompts.map((each: unknown, index) => {
    const { name, text: content } = isRecord(each) ? each : {}
    if (!(isWithin(name, MAX_NAME) && isWithin(content, MAX_TEXT)))
      throw new InputError(t('app.prompts.invalid', { position: index + 1, name: MAX_NAME, text: MAX_TEXT }))
    return { name, text: content }
  })
}

const isWithin = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= most
