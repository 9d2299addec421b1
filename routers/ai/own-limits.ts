import { listLimitsFor } from '../../entities/ai/usage-limit.sql.ts'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { about, userWith } from '../core/trpc.ts'
import type { SubjectId } from '../ports/ai/usage-ledger.ts'
import { type Asking, mayAskInRooms } from './asking.ts'
import { callerSubjects } from './reservation.ts'

export const ownLimits = userWith('read')
  .meta(
    about(
      'List the limits that apply to the caller, to the models they may ask and to the rooms where they may, with what is used, held and left of each.',
    ),
  )
  .query(async ({ ctx }) => {
    const { caller, usage, services } = ctx
    const [models, rooms] = await Promise.all([services.sql(listOfferedModels, [usage]), roomsToAsk(ctx)])
    const providers = [...new Set(models.map(({ provider }) => provider))]
    const subjects: SubjectId[] = [
      ...callerSubjects(caller),
      ...providers.map((provider) => ['provider', provider] as const),
      ...models.map(({ modelId }) => ['model', modelId] as const),
      ...rooms.map(({ id }) => ['room', id] as const),
    ]
    const names = new Map(rooms.map(({ id, name }) => [id, name]))
    const limits = await services.sql(listLimitsFor, [
      subjects.map(([subject]) => subject),
      subjects.map(([, id]) => id),
    ])
    return limits.map((limit) => ({
      ...limit,
      /** Of which room it is, by the name that people gave it. */
      roomName: limit.subject === 'room' ? (names.get(limit.subjectId) ?? null) : null,
    }))
  })

const roomsToAsk = async (ctx: Asking) =>
  mayAskInRooms(ctx) ? ctx.services.roomDirectory.roomsToAsk(ctx.caller.person.id) : []
