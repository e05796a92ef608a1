/** Verbs that tools of companies have, with what they do. */
const VERBS = {
  create: 'Creates a new {one} and returns its number.',
  get: 'Reads one {one} by its number.',
  list: 'Lists the {many} that fit a filter, newest first.',
  update: 'Changes fields of an existing {one}.',
  delete: 'Removes a {one} for good.',
} as const;

const RESOURCES = {
  crm: {
    contact: 'contacts',
    company: 'companies',
    deal: 'deals',
    meeting: 'meetings',
    campaign: 'campaigns',
    lead: 'leads',
    call_note: 'notes of calls',
    mailing_list: 'mailing lists',
    territory: 'territories',
    forecast: 'forecasts',
    partner: 'partners',
    contract: 'contracts',
    survey: 'surveys',
  },
  shop: {
    order: 'orders',
    product: 'products',
    voucher: 'vouchers',
    shipment: 'shipments',
    refund: 'refunds',
    supplier: 'suppliers',
    stock_level: 'levels of stock',
    price_list: 'price lists',
    warehouse: 'warehouses',
    invoice: 'invoices',
    subscription: 'subscriptions',
    review: 'reviews of customers',
    tax_rate: 'rates of tax',
  },
  helpdesk: {
    ticket: 'tickets',
    incident: 'incidents',
    change_request: 'requests for changes',
    article: 'articles of the knowledge base',
    asset: 'devices and licences',
    on_call_shift: 'shifts of those on call',
    escalation: 'escalations',
    service_level: 'levels of service',
    announcement: 'announcements',
    access_request: 'requests for access to systems',
    maintenance: 'windows of maintenance',
    vendor: 'vendors',
    room_booking: 'bookings of rooms',
    printer: 'printers',
  },
} as const;

/** 200 tools of three servers: names and descriptions by the name of their server. */
export const MANY_TOOLS: Readonly<Record<string, ReadonlyMap<string, string>>> = Object.fromEntries(
  Object.entries(RESOURCES).map(([server, resources]) => [
    server,
    new Map(
      Object.entries(resources).flatMap(([resource, many]) =>
        Object.entries(VERBS).map(([verb, text]): [string, string] => [
          `${verb}_${resource}`,
          text.replace('{one}', resource.replaceAll('_', ' ')).replace('{many}', many),
        ]),
      ),
    ),
  ]),
);

/** What is asked for, and the tool that does it. */
export const WANTED_TOOLS: readonly (readonly [query: string, tool: string])[] = [
  ['create invoice', 'create_invoice'],
  ['refunds list', 'list_refund'],
  ['delete the subscription', 'delete_subscription'],
  ['book a room: create a booking of a room', 'create_room_booking'],
  ['update the price lists', 'update_price_list'],
  ['read a ticket by its number', 'get_ticket'],
  ['list shifts of those on call', 'list_on_call_shift'],
  ['listWarehouses', 'list_warehouse'],
  ['announcements newest', 'list_announcement'],
];
