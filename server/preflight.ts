import { access } from 'node:fs/promises'
import { readModelConfig } from './ai/config.ts'
import { processEnv, readEnv } from './env.ts'
import { loadExtensions } from './extensions.ts'
import { list } from './setting-kinds.ts'
import type { Env } from './settings.ts'

/**
 * The settings of a service that is about to start, with a look into every file they name: throws one list of all that
 * is wrong, before anything is made.
 */
export async function readWholeEnv(source: NodeJS.ProcessEnv = processEnv()): Promise<Env> {
  const { NODE_ENV, AI_CONFIG, SVC_AVATAR, EXTENSIONS } = source
  const outcomes = await Promise.allSettled([
    (async () => readEnv(source))(),
    AI_CONFIG && readModelConfig(AI_CONFIG, source, { demo: NODE_ENV !== 'production' }),
    SVC_AVATAR && access(SVC_AVATAR),
    loadExtensions(list.parse(EXTENSIONS)),
  ])
  const problems = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []))
  const [settings] = outcomes
  if (problems.length > 0 || settings.status === 'rejected')
    throw new Error(problems.map(({ message }) => message).join('\n'))
  return settings.value
}
