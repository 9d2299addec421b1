import { z } from 'zod'
import { groupName, MAX_GROUPS } from '../login.ts'

/** Groups in the configuration file that may use something; everybody if empty. */
export const allowedGroups = z
  .array(groupName)
  .max(MAX_GROUPS)
  .overwrite((groups) => [...new Set(groups)])
  .default([])
