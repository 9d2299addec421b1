import { z } from 'zod'
import { Problem } from '../../core/problems.ts'

export const limitName = z.string().trim().min(1).max(80)

export const noLimit = (name: string) => new Problem('not_found', { detail: `There is no limit named '${name}'.` })
