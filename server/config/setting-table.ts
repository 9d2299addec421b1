import { z } from 'zod'
import { shape } from './settings.ts'

export interface SettingRow {
  name: string
  type: string
  default: string
  meaning: string
  secret: boolean
}

/** The table of all settings, for `svc settings` and the guide. */
export function describeSettings(): SettingRow[] {
  const schema = z.toJSONSchema(z.object(shape), { io: 'input', unrepresentable: 'any' })
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { description = '', secret = false, ...rest } = property as z.core.JSONSchema.BaseSchema
    return {
      name,
      type: describeType(name, rest),
      default: describeDefault(rest),
      meaning: description,
      secret: Boolean(secret),
    }
  })
}

function describeType(name: string, schema: z.core.JSONSchema.BaseSchema): string {
  if (schema.enum) return schema.enum.join(' | ')
  const declared = shape[name as keyof typeof shape]
  if (['a,b', undefined].some((value) => Array.isArray(declared.safeParse(value).data))) return 'list'
  if (declared.safeParse('true').data === true) return 'boolean'
  if (schema.anyOf || Array.isArray(schema.type)) return 'duration'
  return schema.format === 'uri' ? 'URL' : String(schema.type ?? 'string')
}

function describeDefault({ default: fallback }: z.core.JSONSchema.BaseSchema): string {
  return fallback === undefined || fallback === '' ? '' : String(fallback)
}
