import type { Resource, ResourceType } from './declare.ts'
import { ResourceStatements } from './statements.ts'

export interface ResourceCatalogue {
  readonly all: readonly Resource[]
  of(type: ResourceType): Resource
  statementsOf(type: ResourceType): ResourceStatements
}

/** All declared types by name, with the statements that were written for them so far. */
export function createCatalogue(resources: readonly Resource[]): ResourceCatalogue {
  const byType = new Map(resources.map((resource) => [resource.type, resource]))
  const of = (type: ResourceType): Resource => {
    const found = byType.get(type)
    if (!found) throw new Error(`there is no resource ${type}`)
    return found
  }
  const statements = new Map(
    resources.map((declared) => [declared.type, new ResourceStatements(declared, (type) => of(type as ResourceType))]),
  )
  return { all: resources, of, statementsOf: (type) => statements.get(of(type).type) as ResourceStatements }
}
