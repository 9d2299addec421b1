import type { api } from '../api/client.ts'
import { isRecord, parseRecord } from '../local-store.ts'
import type { ChatModel } from '../models/models.ts'

/** An assistant as its editors see it. */
export type StoredAssistant = Awaited<ReturnType<typeof api.assistants.get.query>>

/** The content of a version of an assistant. */
export type Content = Parameters<typeof api.assistants.save.mutate>[0]['content']

/** The values of the fields, as they are written. */
export interface ContentForm {
  name: string
  handle: string
  description: string
  detailDescription: string
  systemPrompt: string
  greeting: string
  starters: readonly string[]
  model: string
  fallback: readonly string[]
  temperature: string
  topP: string
  maxTokens: string
  /** Null for all tools of the model. */
  tools: readonly string[] | null
  /** The id of the knowledge that people ask through it. */
  knowledge: number | null
  /** Words with commas between them. */
  tags: string
  allowModelSelect: boolean
}

/** The values that fields show, and the function by which they change them. */
export interface FieldsProps {
  form: ContentForm
  change: (members: Partial<ContentForm>) => void
  models: readonly ChatModel[]
}

export const emptyForm: ContentForm = {
  name: '',
  handle: '',
  description: '',
  detailDescription: '',
  systemPrompt: '',
  greeting: '',
  starters: [],
  model: '',
  fallback: [],
  temperature: '',
  topP: '',
  maxTokens: '',
  tools: null,
  knowledge: null,
  tags: '',
  allowModelSelect: false,
}

const writeNumber = (value: number | undefined): string => (value === undefined ? '' : String(value))

export function toForm(handle: string, content: Content): ContentForm {
  const { name, description, systemPrompt, greeting, starters, model, fallback, parameters, tools } = content
  return {
    handle,
    name,
    description: description ?? '',
    detailDescription: content.detailDescription ?? '',
    systemPrompt: systemPrompt ?? '',
    greeting: greeting ?? '',
    starters: starters ?? [],
    model,
    fallback: fallback ?? [],
    temperature: writeNumber(parameters?.temperature),
    topP: writeNumber(parameters?.topP),
    maxTokens: writeNumber(parameters?.maxTokens),
    tools: tools ?? null,
    knowledge: content.knowledge ?? null,
    tags: (content.tags ?? []).join(', '),
    allowModelSelect: content.allowModelSelect ?? false,
  }
}

/** Leaves out empty rows, and parameters that are left to the model. */
export function toContent(form: ContentForm): Content {
  const { name, description, systemPrompt, greeting, model, temperature, topP, maxTokens, tools } = form
  const starters = form.starters.map((starter) => starter.trim()).filter((starter) => starter !== '')
  const fallback = form.fallback.filter(
    (name, at) => name !== '' && name !== model && form.fallback.indexOf(name) === at,
  )
  return {
    name: name.trim(),
    description: description.trim(),
    detailDescription: form.detailDescription,
    systemPrompt,
    greeting,
    starters,
    model,
    fallback,
    parameters: {
      ...(temperature !== '' && { temperature: Number(temperature) }),
      ...(topP !== '' && { topP: Number(topP) }),
      ...(maxTokens !== '' && { maxTokens: Number(maxTokens) }),
    },
    tools: tools === null ? null : [...tools],
    knowledge: form.knowledge,
    tags: form.tags
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ''),
    allowModelSelect: form.allowModelSelect,
  }
}

/** A form that is not saved, which this browser keeps encrypted. */
export interface EditorDraft {
  form: ContentForm
  /** The version from which it was made; null for an assistant that is not made yet. */
  basedOn: number | null
}

export const serializeDraft = (draft: EditorDraft): string => JSON.stringify(draft)

/** Returns undefined for a text that is no draft, as one of an earlier version of this page. */
export function parseDraft(text: string): EditorDraft | undefined {
  const { form, basedOn } = parseRecord(text) ?? {}
  if (!isRecord(form) || !(basedOn === null || typeof basedOn === 'number')) return undefined
  const isForm = Object.entries(emptyForm).every(([name, empty]) => isLike(form[name], empty))
  return isForm ? { form: form as unknown as ContentForm, basedOn } : undefined
}

const isLike = (value: unknown, empty: ContentForm[keyof ContentForm]): boolean => {
  if (empty === null) return value === null || typeof value === 'number' || isTexts(value)
  return Array.isArray(empty) ? isTexts(value) : typeof value === typeof empty
}

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string')

export const isSameForm = (one: ContentForm, other: ContentForm): boolean =>
  JSON.stringify(toContent(one)) === JSON.stringify(toContent(other)) && one.handle === other.handle
