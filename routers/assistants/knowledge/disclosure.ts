/** Tells the people of a room what models read for an answer, before they do. */
export interface KnowledgeDisclosure {
  room: number
  /** Values: a text, and the name of the model that will embed it. If this rejects, the model gets nothing. */
  beforeEmbedding(text: string, model: string): Promise<void>
  /** Values: the number of passages for this answer so far. If this rejects, the model gets none of the last ones. */
  beforeReading(passages: number): Promise<void>
}
