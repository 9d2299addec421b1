import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, timestamps } from '../sql/columns.ts'

/** A prompt of one person, encrypted by their browser with its name. */
export const OwnPrompt = defineEntity({
  name: 'OwnPrompt',
  tableName: 'own_prompts',
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    /** The ciphertext of its name and text. */
    sealed: p.text(),
  },
})

/** A prompt that administrators write for groups or for everybody. It is not encrypted. */
export const SharedPrompt = defineEntity({
  name: 'SharedPrompt',
  tableName: 'shared_prompts',
  properties: {
    id,
    ...timestamps,
    name: p.string().length(120),
    text: p.text(),
    /** The groups that may use it; empty for everybody. */
    groups: p.array().defaultRaw(`'{}'`),
    /** The language in which it is offered; null for all. */
    locale: p.string().length(10).nullable(),
  },
})
