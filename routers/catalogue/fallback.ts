import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { attribute } from '../resource/declare.ts'
import type { Change, WrittenRow } from '../verbs/write.ts'
import { distinct } from '../verbs/write-inputs.ts'
import { text } from './schemas.ts'

const about =
  'Names of up to five models that answer where its provider cannot, in their order. One is asked only where the caller may use it ' +
  'and it takes all of the question; its own `fallback` does not count then, so two models may name each other.'

/** The names of models, as requests use them. */
export const fallback = attribute(z.array(text(200)).max(5).overwrite(distinct).describe(about), {
  write: true,
  default: [],
  only: 'admin',
})

type Model = Pick<AiModel, 'modelId' | 'fallback'>

/** A model that is renamed is not to get the name of one that stands in for it, either. */
export function namesNotItself(row: Record<string, unknown>, change?: Change): Issue[] {
  const { modelId, fallback } = row as Model
  if (!fallback?.includes(modelId)) return []
  const isRenamed = change !== undefined && change.given['fallback'] === undefined
  return isRenamed
    ? [{ path: ['modelId'], message: 'must not be a name in its own fallback' }]
    : [{ path: ['fallback'], message: 'must name other models' }]
}

/** Refuses names that no model has. One that is lost later is passed over. */
export async function namesModels({ em, given }: Pick<WrittenRow, 'em' | 'given'>): Promise<void> {
  const names = given['fallback'] as string[] | undefined
  if (!names?.length) return
  const known = new Set(await knownNames(em, names))
  const issues = names.flatMap((name, at) =>
    known.has(name) ? [] : [{ path: ['fallback', at], message: 'there is no model with this name' }],
  )
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

const knownNames = async (em: EntityManager, names: string[]) =>
  (await em.find(AiModel, { modelId: names }, { fields: ['modelId'] })).map(({ modelId }) => modelId)
