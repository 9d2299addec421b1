import { readFile } from 'node:fs/promises'

/** Identifies the picture that the AI user has until it is given another. It is drawn in `ai-user.svg`. */
export const BUILT_IN_AI_PICTURE = 'built-in/ai-user.webp'

export const readBuiltInAiPicture = (): Promise<Uint8Array> => readFile(new URL('ai-user.webp', import.meta.url))
