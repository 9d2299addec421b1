import type { ChangeSet, UnitOfWork } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { AiProvider } from '../../entities/catalogue/ai-provider.ts'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import type { Services } from '../core/services.ts'

interface Writing {
  em: EntityManager
  changes: ChangeRecorder
}

interface Write {
  table: string
  verb: 'created' | 'updated' | 'deleted'
  row: { id: number }
}

/** Takes note of a model that shows something else without being written. */
type NoteModel = (model: AiModel) => void

/**
 * Takes note of each row that the transaction writes by its entity from here on, of the types of which everybody is told, and
 * of those that the result is given. A synchronisation changes many rows in several steps, and each is told once.
 */
export function noteWrites({ em, changes }: Writing, { resources }: Pick<Services, 'resources'>): NoteModel {
  const told = resources.all.filter(({ streams }) => streams === 'all')
  const types = new Map(told.map((of) => [resources.tableOf(of.type).table, of]))
  const noted = new Set<string>()
  const note = ({ table, verb, row }: Write) => {
    const of = types.get(table)
    const key = `${table} ${row.id}`
    if (!of || (verb === 'updated' && noted.has(key))) return
    noted.add(key)
    changes.addRow(of, verb, row)
  }
  em.getEventManager().registerSubscriber({ afterFlush: ({ uow }) => writesIn(uow).forEach(note) })
  return (model) => note(updateOf(AiModel.tableName, model))
}

/** The tools of a model, and the rules of who may use it, stand in tables of their own. */
const writesIn = (uow: UnitOfWork): Write[] => [
  ...uow.getChangeSets().flatMap(writeOf),
  ...uow.getCollectionUpdates().map(({ owner }) => updateOf(AiModel.tableName, owner)),
]

const updateOf = (table: string, row: object): Write => ({ table, verb: 'updated', row: row as Write['row'] })

/** Columns that nobody reads, and the key, which stands in updates of several rows: a row of which only these change is as it was. */
const unread = ['id', 'synced', 'updatedAt']

function writeOf({ meta: { tableName: table }, type, entity, payload }: ChangeSet<object>): Write[] {
  if (entity instanceof AiModelUsageRule.class) return [updateOf(AiModel.tableName, entity.model)]
  if (entity instanceof ProviderServer.class) return [updateOf(AiProvider.tableName, entity.provider)]
  if (type === 'create' || type === 'delete') return [{ table, verb: `${type}d`, row: entity as Write['row'] }]
  return Object.keys(payload).every((name) => unread.includes(name)) ? [] : [updateOf(table, entity)]
}
