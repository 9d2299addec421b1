import { discloseKnowledge } from '../../../entities/rooms/room-disclosure.sql.ts'
import type { KnowledgeDisclosure } from '../../assistants/knowledge/disclosure.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { hashContent } from './disclosed-parts.ts'

/** Adds to the disclosure of an answer what models read in knowledge, which is known while the answer is written. */
export class RoomKnowledgeDisclosure implements KnowledgeDisclosure {
  readonly room: number
  readonly #ctx: Context
  readonly #key: Buffer
  #disclosure: number | undefined

  constructor(ctx: Context, room: number, key: Buffer) {
    this.#ctx = ctx
    this.room = room
    this.#key = key
  }

  /** Names the disclosure, once it is recorded. Before, no model may read anything. */
  begin(disclosure: number): void {
    this.#disclosure = disclosure
  }

  async beforeEmbedding(text: string, name: string): Promise<void> {
    const model = await this.#ctx.services.ai.callableModels.findCached(name, 'main', 'embedding')
    if (!model) throw new Problem('not_found')
    const { providerId: provider, modelId } = model
    const search = await hashContent(this.#key, Buffer.from(text))
    await this.#add([JSON.stringify({ provider, model: modelId }), JSON.stringify([search]), 0])
  }

  beforeReading(passages: number): Promise<void> {
    return this.#add([null, null, passages])
  }

  async #add(values: [embedding: string | null, searches: string | null, passages: number]): Promise<void> {
    const disclosure = this.#disclosure
    if (disclosure === undefined) throw new Problem('unavailable')
    await withChangeLog(
      this.#ctx,
      async (em, changes) => {
        const [found] = await runStatement(em, discloseKnowledge, [disclosure, ...values])
        // The answer was cancelled.
        if (!found) throw new Problem('client_gone')
        changes.add([`room:${this.room}`], 'updated', 'room-disclosures', disclosure)
      },
      `room:${this.room}`,
    )
  }
}
