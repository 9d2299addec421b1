import { z } from 'zod'
import type { OfferedModel } from '../ai/offered-model.ts'

export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(20),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
})

/** A page of the models: those after one, or those before one. */
export function pageOf(models: readonly OfferedModel[], { limit, after_id, before_id }: z.output<typeof pageQuery>) {
  const ids = models.map(({ modelId }) => modelId)
  const from = after_id === undefined ? 0 : ids.indexOf(after_id) + 1
  const to = before_id === undefined ? models.length : Math.max(0, ids.indexOf(before_id))
  const found = models.slice(from, to)
  const data = (before_id === undefined ? found.slice(0, limit) : found.slice(-limit)).map(modelOf)
  return {
    data,
    has_more: data.length < found.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}

export const modelOf = ({ modelId, label, created }: OfferedModel) => ({
  type: 'model',
  id: modelId,
  display_name: label,
  created_at: new Date(created * 1000).toISOString(),
})
