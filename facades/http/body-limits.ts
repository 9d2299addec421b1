import type { BodySize } from '../../routers/core/body-size.ts'

export type BodyLimits = Readonly<Record<BodySize, number>>

interface ConfiguredSizes {
  AI_MAX_BODY: number
  AI_MAX_BODY_WITH_FILES: number
  MAX_AVATAR_FILE_SIZE: number
  KEYCHAIN_MAX_BYTES: number
}

const KB = 1024

/** Bytes of a body, by what it carries. A character that is written as \uXXXX takes six. */
export const readBodyLimits = ({
  AI_MAX_BODY,
  AI_MAX_BODY_WITH_FILES,
  MAX_AVATAR_FILE_SIZE,
  KEYCHAIN_MAX_BYTES,
}: ConfiguredSizes): BodyLimits => ({
  form: 16 * KB,
  record: 64 * KB,
  'long text': 384 * KB,
  // A part of one, with at least one message of any size.
  conversation: 1024 * KB,
  'first keys': 512 * KB,
  // For 500 members, and the two long texts of a room.
  'room keys': 896 * KB,
  // With the names around keys and values.
  keychain: Math.ceil(KEYCHAIN_MAX_BYTES * 1.25) + 512 * KB,
  // As base64 in a document, which may have long texts beside it.
  picture: Math.ceil(MAX_AVATAR_FILE_SIZE * 1.4) + 384 * KB,
  'AI request': AI_MAX_BODY,
  'AI request with files': AI_MAX_BODY_WITH_FILES,
})
