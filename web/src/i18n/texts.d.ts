import 'i18next';
import type access from '../access/texts.en.json';
import type account from '../account/texts.en.json';
import type administration from '../administration/texts.en.json';
import type agent from '../agent/texts.en.json';
import type apikey from '../apikey/texts.en.json';
import type app from '../app/texts.en.json';
import type chat from '../chat/texts.en.json';
import type harness from '../harness/texts.en.json';
import type home from '../home/texts.en.json';
import type knowledge from '../knowledge/texts.en.json';
import type mcp from '../mcp/texts.en.json';
import type media from '../media/texts.en.json';
import type model from '../model/texts.en.json';
import type provider from '../provider/texts.en.json';
import type search from '../search/texts.en.json';
import type signIn from '../sign-in/texts.en.json';
import type sso from '../sso/texts.en.json';
import type ui from '../ui/texts.en.json';
import type usage from '../usage/texts.en.json';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'app';
    resources: {
      access: typeof access;
      account: typeof account;
      administration: typeof administration;
      agent: typeof agent;
      apikey: typeof apikey;
      app: typeof app;
      chat: typeof chat;
      harness: typeof harness;
      home: typeof home;
      knowledge: typeof knowledge;
      mcp: typeof mcp;
      media: typeof media;
      model: typeof model;
      provider: typeof provider;
      search: typeof search;
      'sign-in': typeof signIn;
      sso: typeof sso;
      ui: typeof ui;
      usage: typeof usage;
    };
  }
}
