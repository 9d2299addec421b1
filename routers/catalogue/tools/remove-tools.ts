import { AiModel } from '../../../entities/catalogue/ai-model.ts'
import type { AiTool } from '../../../entities/catalogue/ai-tool.ts'
import type { ChangeTransaction } from '../../core/change-recorder.ts'
import { keepNames } from './tool-names.ts'

/** Removes tools, and keeps their names for them. Models show their tools, so their changes are recorded as well. */
export async function removeTools({ em, changes }: ChangeTransaction, tools: readonly AiTool[]): Promise<void> {
  if (tools.length === 0) return
  for (const { id } of await em.find(AiModel, { tools: { $in: [...tools] } }, { fields: ['id'] }))
    changes.add(['all'], 'updated', 'ai-models', id)
  await keepNames(em, tools)
  for (const tool of tools) {
    em.remove(tool)
    recordToolChange(changes, 'deleted', tool)
  }
}

type Changes = ChangeTransaction['changes']

/** Records a change of a tool. */
export function recordToolChange(
  changes: Changes,
  verb: 'created' | 'updated' | 'deleted',
  { kind, id }: Pick<AiTool, 'kind' | 'id'>,
): void {
  if (kind === 'tool') changes.add(['all'], verb, 'ai-tools', id)
}

/** Records a change of a prompt or resource. Nobody can follow these alone, so it is a change of their server. */
export function recordOfferChange(changes: Changes, { kind, server }: Pick<AiTool, 'kind' | 'server'>): void {
  if (kind !== 'tool' && server) changes.add(['all'], 'updated', 'mcp-servers', server.id)
}
